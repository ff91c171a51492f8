// Operators as marble diagrams: their outputs over virtual time, drawn as text.
//
//   npm run build && npx ts-node docs/notebooks/operator-marbles.ts
//
// A character is 20 ms unless the section has another scale. `-` is time without a value, a letter is a value, values in
// brackets are simultaneous, `|` is completion, `#` an error. A VirtualTimeScheduler jumps from one event to the next, so
// seconds of audio take no time.

import {
  concat,
  delay,
  ignoreElements,
  map,
  mergeMap,
  NEVER,
  of,
  throwError,
  timer,
  VirtualTimeScheduler,
  type Observable,
} from 'rxjs'
import {
  transcript,
  chunk,
  interleave,
  pace,
  recognize,
  sessionState,
  SpeechError,
  spot,
  type AudioFormat,
  type SessionEvent,
} from 'rxspeech'
import { drawMarbles, scriptedDial } from 'rxspeech/testing'

const format: AudioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }
const bytesPerMs = 16
const title = (text: string): void => console.log(`\n== ${text}`)

/** Silence of this duration. */
const silence = (ms: number): Uint8Array => new Uint8Array(ms * bytesPerMs)

/** Draws a stream on a new clock and prints the drawing after its name. */
const draw = async <Value>(
  name: string,
  stream$: (clock: VirtualTimeScheduler) => Observable<Value>,
  symbol: (value: Value) => string = () => 'o',
  frameMs = 20,
): Promise<void> => {
  const clock = new VirtualTimeScheduler(undefined, Infinity)
  const drawn = drawMarbles(stream$(clock), { frameMs, scheduler: clock, symbol })
  clock.flush()
  console.log(`${name.padEnd(11)} ${await drawn}`)
}

const lesson = async (): Promise<void> => {
  title('1. chunk: pieces of equal length')
  // A microphone emits pieces of any length: 50 ms, 10 ms, 70 ms. `chunk` emits 20 ms each, and the rest at the end. It has
  // no timer: it emits a chunk as soon as its last sample has arrived.
  const microphone = (clock: VirtualTimeScheduler): Observable<Uint8Array> =>
    concat(
      of(silence(50)).pipe(delay(60, clock)),
      of(silence(10)).pipe(delay(60, clock)),
      of(silence(70)).pipe(delay(60, clock)),
    )
  await draw('microphone', microphone)
  await draw('chunk', (clock) => microphone(clock).pipe(chunk({ format })))

  title('2. pace: a file in real time')
  // The source emits the whole file at once. `pace` emits it in real time, and completes at the end of the audio. Here a
  // character is 10 ms.
  await draw('file', () => of(silence(200)), undefined, 10)
  await draw('pace', (clock) => of(silence(200)).pipe(pace({ format, scheduler: clock })), undefined, 10)
  await draw('speed 2', (clock) => of(silence(200)).pipe(pace({ format, speed: 2, scheduler: clock })), undefined, 10)

  title('3. interleave: two channels, one of them late')
  // The right channel stalls after 60 ms. When the left one is 80 ms ahead, silence replaces the right one, and `onSkew`
  // receives the exact range.
  const left = (clock: VirtualTimeScheduler): Observable<Uint8Array> =>
    of(silence(240)).pipe(pace({ format, scheduler: clock }))
  const right = (clock: VirtualTimeScheduler): Observable<Uint8Array> =>
    concat(of(silence(60)).pipe(pace({ format, scheduler: clock })), timer(240, clock).pipe(ignoreElements()))
  const reports: string[] = []
  await draw('left', left)
  await draw('right', right)
  await draw('interleave', (clock) =>
    interleave(left(clock), right(clock), {
      format,
      maxSkewMs: 80,
      onSkew: ({ type, channel, fromMs, toMs }) => reports.push(`${type} channel ${channel}: ${fromMs} to ${toMs} ms`),
    }),
  )
  for (const report of reports) console.log(`            ${report}`)

  title('4. A service that is a marble diagram')
  // `scriptedDial` replaces the service by a script, to test an app against a service that is slow, silent or wrong. Here
  // it answers after 100 ms and sends two partials, a milestone and an unknown message. Then the connection breaks.
  // (s)tate, (r)esponse, (p)artial, (m)ilestone, (u)nknown, (g)ap, (l)edger.
  await draw('session', (clock) => brokenCall(clock), letter)
  await draw('transcript', (clock) => brokenCall(clock).pipe(transcript()), ({ channels }) =>
    channels[0]?.partial === '' ? 'C' : 'c',
  )
  console.log('            c: the text has a partial. C: all of it is committed. The # is connection-lost.')

  title('5. What an app says: a phrase, and the state of the session')
  // `spot` emits a phrase when a partial first shows it, (l)ive, and once more when it is (f)inal. `sessionState` emits
  // each state once: (i)dle, (c)onnecting, (l)ive, live with lost audio, (e)nded. It completes: that state has the error.
  await draw('spot', (clock) => brokenCall(clock).pipe(spot(['evening'])), ({ state }) => state.charAt(0))
  await draw('state', (clock) => brokenCall(clock).pipe(sessionState()), ({ type }) => type.charAt(0))
}

/** A service that answers the start after 100 ms, sends results, and loses the connection. */
const brokenCall = (clock: VirtualTimeScheduler): Observable<SessionEvent> => {
  const message = (fields: Readonly<Record<string, string>>): string => JSON.stringify(fields)
  const script$ = concat(
    of(message({ 'message-name': 'recognize-response', 'operation-result': 'Success' })).pipe(delay(100, clock)),
    of(message({ 'message-name': 'partial-result', text: 'good' })).pipe(delay(60, clock)),
    of(message({ 'message-name': 'partial-result', text: 'good evening' })).pipe(delay(60, clock)),
    of(message({ 'message-name': 'milestone-result', text: 'good evening' })).pipe(delay(60, clock)),
    timer(100, clock).pipe(map(() => message({ 'message-name': 'weather-report', text: 'rain' }))),
    throwError(() => new SpeechError('connection-lost', 'The connection broke.')).pipe(startAfter(60, clock)),
  )
  return concat(of(silence(20)), NEVER).pipe(
    recognize({
      url: 'ws://localhost',
      model: 'call',
      // Otherwise the session would reconnect after the error.
      resumption: false,
      token: 'none is needed',
      format,
      testing: { scheduler: clock, dial: scriptedDial(() => script$) },
    }),
  )
}

const startAfter =
  (ms: number, clock: VirtualTimeScheduler) =>
  <Value>(source$: Observable<Value>): Observable<Value> =>
    timer(ms, clock).pipe(mergeMap(() => source$))

/** The first letter of the event's type; `s` for a state of the session. */
const letter = ({ type }: SessionEvent): string => (type === 'connection' ? 's' : type.charAt(0))

void lesson()
