// A first session, from audio to text. It needs only this checkout.
//
//   npm run build && npx ts-node docs/notebooks/first-session.ts
//
// The service and its engine run in this process and recognize one sentence of mono speech: partials, a milestone and a
// final. Each section prints its result.

import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { EMPTY, from, lastValueFrom, map, of, tap, toArray, type Observable } from 'rxjs'
import {
  deinterleave,
  isSpeechError,
  readWav,
  recognize,
  transcript,
  type AudioFormat,
  type SessionEvent,
} from 'rxspeech'
import { inMemoryService } from 'rxspeech-service/testing'

const samples = join(__dirname, '../../samples')
const title = (text: string): void => console.log(`\n== ${text}`)

const lesson = async (): Promise<void> => {
  title('1. What is in the file')
  // `readWav` reads the header. The samples are read when a consumer pulls them.
  const wav = await readWav(createReadStream(join(samples, 'call.wav')))
  const { encoding, sampleRateHz, channels } = wav.format
  console.log(`${encoding}, ${sampleRateHz} Hz, ${channels} channels, ${Math.round(wav.durationMs ?? 0) / 1000} s`)

  title('2. One channel of it')
  // Left is the restaurant, right is the guest. `deinterleave` separates the channels; we keep 4 s of the left one.
  const mono: AudioFormat = { ...wav.format, channels: 1 }
  const left = await lastValueFrom(
    from(wav.audio).pipe(
      deinterleave({ format: wav.format }),
      map(([restaurant]) => restaurant),
      toArray(),
      map((chunks) => Buffer.concat(chunks).subarray(0, 4 * sampleRateHz)),
    ),
  )
  console.log(`${left.length} bytes of ${mono.encoding} are ${left.length / sampleRateHz} s`)

  title('3. A service')
  // The whole service without sockets: sessions, voice activity detection, and the engine with the model in samples/models.
  const service = inMemoryService({ modelFolders: [join(samples, 'models')] })
  const options = service.recognizer({ format: mono })
  console.log(`model ${options.model} at ${options.url}`)

  title('4. A session')
  // `recognize(options)` takes any source of audio and emits SessionEvents. Here the source is an Observable of bytes.
  // When it completes, the session finalizes: it waits for the last results. Over a socket you set `url`, `token` and
  // `model`; here they come from the service.
  const session$ = recognize(options)(of(new Uint8Array(left)))
  const events = await lastValueFrom(session$.pipe(tap(show), toArray()))

  title('5. Partials, milestones and the final')
  // A partial may change. A milestone never changes. The milestones together are the text of the final.
  const milestones = events.flatMap((event) => (event.type === 'milestone' ? [event.text] : [])).join('')
  const final = events.flatMap((event) => (event.type === 'final' ? [event.text] : [])).join('')
  console.log(`milestones: ${milestones}`)
  console.log(`final:      ${final}`)
  console.log(`equal:      ${milestones === final}`)

  title('6. The text to show')
  // `transcript` applies this rule: committed text only grows, and the partial follows it.
  const shown = await lastValueFrom(from(events).pipe(transcript()))
  console.log(shown.channels)

  title('7. Errors have codes')
  // The error channel carries a SpeechError. Handle it by its `code`; docs/ERRORS.md lists all codes.
  const refused$: Observable<SessionEvent> = recognize({ ...options, model: 'greek' })(EMPTY)
  const code = await lastValueFrom(refused$).catch((error: unknown) => (isSpeechError(error) ? error.code : 'none'))
  console.log(`the model "greek" gives ${String(code)}`)

  // Ends the threads of the engine, so that the process can exit.
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
