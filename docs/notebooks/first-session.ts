// A first session, from audio to text, with nothing but this checkout.
//
//   npm run build && npx ts-node docs/notebooks/first-session.ts
//
// The service runs inside this process and the engine really reads the audio: one sentence of mono speech turns into
// partials, a milestone and a final. Each section prints what it is about.

import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { EMPTY, from, lastValueFrom, map, of, tap, toArray, type Observable } from 'rxjs'
import {
  accumulateMilestones,
  deinterleave,
  isSpeechError,
  readWav,
  recognize,
  type AudioFormat,
  type SessionEvent,
} from 'rxspeech'
import { inMemoryService } from 'rxspeech/testing'

const samples = join(__dirname, '../../samples')
const title = (text: string): void => console.log(`\n== ${text}`)

const lesson = async (): Promise<void> => {
  title('1. What is in the file')
  // `readWav` reads the header and leaves the samples in the file until somebody asks for them.
  const wav = await readWav(createReadStream(join(samples, 'call.wav')))
  const { encoding, sampleRateHz, channels } = wav.format
  console.log(`${encoding}, ${sampleRateHz} Hz, ${channels} channels, ${Math.round(wav.durationMs ?? 0) / 1000} s`)

  title('2. One side of it')
  // Left is the restaurant, right is the guest. `deinterleave` parts the two; we keep the left one, up to 4 s.
  const mono: AudioFormat = { ...wav.format, channels: 1 }
  const left = await lastValueFrom(
    from(wav.audio).pipe(
      deinterleave({ format: wav.format }),
      map(([restaurant]) => restaurant),
      toArray(),
      map((pieces) => Buffer.concat(pieces).subarray(0, 4 * sampleRateHz)),
    ),
  )
  console.log(`${left.length} bytes of ${mono.encoding} are ${left.length / sampleRateHz} s`)

  title('3. A service')
  // The whole service without sockets: conversations, voice activity, and the engine that reads samples/models.
  const service = inMemoryService({ modelFolders: [join(samples, 'models')] })
  const options = service.recognizer({ format: mono })
  console.log(`model ${options.model} at ${options.url}`)

  title('4. A session')
  // `recognize(options)` takes any source of audio and gives SessionEvents. Here the source is one Observable of bytes.
  // Its completion means: that was all, flush it and tell me the final. Over a socket, `url`, `token` and `model`
  // would be yours; here they come from the service.
  const session$ = recognize(options)(of(new Uint8Array(left)))
  const events = await lastValueFrom(session$.pipe(tap(show), toArray()))

  title('5. The rule of the texts')
  // A partial may change. A milestone never does. The milestones put end to end are the final.
  const milestones = events.flatMap((event) => (event.type === 'milestone' ? [event.text] : [])).join('')
  const final = events.flatMap((event) => (event.type === 'final' ? [event.text] : [])).join('')
  console.log(`milestones: ${milestones}`)
  console.log(`final:      ${final}`)
  console.log(`equal:      ${milestones === final}`)

  title('6. The text as one would show it')
  // `accumulateMilestones` keeps that rule for you: committed text only grows, the partial stands behind it.
  const transcript = await lastValueFrom(from(events).pipe(accumulateMilestones()))
  console.log(transcript.channels)

  title('7. An error is a value with a code')
  // The error channel carries one SpeechError. Tell errors apart by `code`; docs/ERRORS.md has them all.
  const refused$: Observable<SessionEvent> = recognize({ ...options, model: 'greek' })(EMPTY)
  const code = await lastValueFrom(refused$).catch((error: unknown) => (isSpeechError(error) ? error.code : 'none'))
  console.log(`the model "greek" gives ${String(code)}`)

  // Frees the engine's threads. Nothing else holds the process.
  await service.close()
}

const show = (event: SessionEvent): void => {
  switch (event.type) {
    case 'connection':
      return console.log(`  [${event.state}]`)
    case 'response':
      return console.log(`  ${event.request} was answered: ${event.operationResult}`)
    case 'partial':
      return console.log(`  partial    ${event.text}`)
    case 'milestone':
      return console.log(`  milestone  ${event.text}  (${event.startMs} to ${event.endMs} ms)`)
    case 'final':
      return console.log(`  final      ${event.text}  (confidence ${event.confidence?.toFixed(2)})`)
    default:
      return console.log(`  ${event.type}`)
  }
}

void lesson()
