// A telephone call with two speakers, step by step: the bytes, the sessions, and a transcript with times.
//
//   npm run build && npx ts-node docs/notebooks/stereo-call.ts
//
// The call is samples/call.wav: a restaurant on the left channel, a guest on the right. The service and the engine run in
// this process.

import { createReadStream, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { from, lastValueFrom, toArray } from 'rxjs'
import {
  deinterleave,
  interleave,
  readWav,
  recognize,
  transcode,
  transcript,
  type MilestoneEvent,
  type SessionEvent,
  type WavStream,
} from 'rxspeech'
import { samplesOf } from 'rxspeech/audio'
import { dataflow } from 'rxspeech/grpc'
import { inMemoryService } from 'rxspeech-service/testing'

const samples = join(__dirname, '../../samples')
const title = (text: string): void => console.log(`\n== ${text}`)
const openCall = (): Promise<WavStream> => readWav(createReadStream(join(samples, 'call.wav')))
const speakers = ['restaurant', 'guest']

const lesson = async (): Promise<void> => {
  title('1. Stereo samples alternate')
  // The samples of a stereo stream alternate: left, right, left, right. `deinterleave` separates the channels.
  const { format, audio } = await openCall()
  const chunks = await lastValueFrom(from(audio).pipe(deinterleave({ format }), toArray()))
  const left = Buffer.concat(chunks.map(([leftSamples]) => leftSamples))
  const right = Buffer.concat(chunks.map(([, rightSamples]) => rightSamples))
  console.log(`${left.length} samples on the left, ${right.length} on the right`)

  title('2. Who speaks when')
  // µ-law has one byte per sample; `transcode` decodes it to 16-bit samples. Each line shows one channel, a character is
  // 500 ms, and `#` is loud. The speakers take turns.
  for (const [channel, bytes] of [left, right].entries()) {
    const pcm = await lastValueFrom(from([new Uint8Array(bytes)]).pipe(transcode({ from: 'ulaw', to: 'pcm' })))
    console.log(`${(speakers[channel] ?? '').padStart(10)}  ${loudness(samplesOf(pcm), format.sampleRateHz / 2)}`)
  }

  title('3. Two microphones make one stream')
  // `interleave` is the opposite of `deinterleave`: it joins two mono sources by the count of samples, not by their time of
  // arrival. Here all of the left channel comes first, so `maxSkewMs` allows a minute between the channels.
  const together = await lastValueFrom(
    interleave(from([new Uint8Array(left)]), from([new Uint8Array(right)]), { format, maxSkewMs: 60_000 }).pipe(toArray()),
  )
  const same = Buffer.concat(together).equals(Buffer.concat(await bytesOfCall()))
  console.log(`joined again, the bytes are those of the file: ${same}`)

  title('4. One gRPC session for both channels')
  // `dataflow` sends stereo unchanged; the project recognizes each channel. A file is pulled, as fast as the service accepts
  // audio.
  const service = inMemoryService({ modelFolders: [join(samples, 'models')] })
  const overGrpc = await lastValueFrom(
    dataflow(service.dataflow({ format }))((await openCall()).audio).pipe(toArray()),
  )
  console.log(`${overGrpc.length} events: ${count(overGrpc)}`)

  title('5. Who said what')
  // Each milestone has its channel and its times in the audio, which give the order of the call.
  for (const { channel = 0, startMs = 0, text } of inOrder(overGrpc)) {
    console.log(`${(startMs / 1000).toFixed(2).padStart(6)}  ${(speakers[channel] ?? '').padStart(10)}  ${text.trim()}`)
  }

  title('6. The text that was spoken')
  // samples/call.json has the script of the call.
  const script: Script = JSON.parse(readFileSync(join(samples, 'call.json'), 'utf8'))
  const recognized = new Set(inOrder(overGrpc).map(({ channel, text }) => `${channel} ${text.trim()}`))
  const exact = script.turns.filter(({ channel, text }) => recognized.has(`${channel} ${text}`))
  console.log(`${exact.length} of ${script.turns.length} turns are exact`)

  title('7. The same over a WebSocket')
  // A socket carries one channel of PCM. `recognize` decodes µ-law and runs a recognition for each channel, with one
  // subscription to the source. The events are the same.
  const overSocket = await lastValueFrom(
    recognize(service.recognizer({ format }))((await openCall()).audio).pipe(toArray()),
  )
  const texts = (events: readonly SessionEvent[]): string =>
    inOrder(events)
      .map(({ channel, startMs, endMs, text }) => [channel, startMs, endMs, text].join(' '))
      .join('\n')
  console.log(`milestones equal to those of gRPC, times and channels too: ${texts(overSocket) === texts(overGrpc)}`)

  title('8. Two channels of text')
  // `transcript` keeps the text of each channel.
  const shown = await lastValueFrom(from(overSocket).pipe(transcript()))
  for (const { channel, committed, confidence } of shown.channels) {
    console.log(`${speakers[channel]} (confidence ${confidence?.toFixed(2)}): ${committed.slice(0, 60)}…`)
  }

  await service.close()
}

interface Script {
  readonly turns: readonly { readonly channel: number; readonly text: string }[]
}

const bytesOfCall = async (): Promise<Uint8Array[]> => lastValueFrom(from((await openCall()).audio).pipe(toArray()))

const inOrder = (events: readonly SessionEvent[]): readonly MilestoneEvent[] =>
  events
    .filter((event): event is MilestoneEvent => event.type === 'milestone')
    .sort((a, b) => (a.startMs ?? 0) - (b.startMs ?? 0))

const count = (events: readonly SessionEvent[]): string => {
  const counts = new Map<string, number>()
  for (const { type } of events) counts.set(type, (counts.get(type) ?? 0) + 1)
  return [...counts].map(([type, number]) => `${number} ${type}`).join(', ')
}

const loudness = (pcm: Int16Array, samplesPerCharacter: number): string => {
  let line = ''
  for (let start = 0; start < pcm.length; start += samplesPerCharacter) {
    const energy = pcm.subarray(start, start + samplesPerCharacter).reduce((sum, sample) => sum + sample * sample, 0)
    line += Math.sqrt(energy / samplesPerCharacter) > 500 ? '#' : '.'
  }
  return line
}

void lesson()
