// A chain of operators seen as marbles: what comes out when, drawn as text, in virtual time.
//
//   npm run build && npx ts-node docs/notebooks/operator-marbles.ts
//
// A line is time, a character is 20 ms unless the section says otherwise. `-` is time without a value, a letter is a
// value, brackets hold what comes at the same time, `|` is completion, `#` an error. No clock runs: the
// VirtualTimeScheduler jumps from one event to the next, so seconds of audio take no time.

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
  accumulateMilestones,
  chunk,
  interleave,
  pace,
  recognize,
  SpeechError,
  type AudioFormat,
  type SessionEvent,
} from 'rxspeech'
import { drawMarbles, scriptedDial } from 'rxspeech/testing'

const format: AudioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }
const bytesPerMs = 16
const title = (text: string): void => console.log(`\n== ${text}`)

/** Audio of so many milliseconds, silent. */
const silence = (ms: number): Uint8Array => new Uint8Array(ms * bytesPerMs)

/** Runs one drawing on a clock of its own and prints it behind its name. */
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
  title('1. chunk: the same audio, cut evenly')
  // A microphone gives what it likes: 50 ms, then 10 ms, then 70 ms. `chunk` gives 20 ms each, and the rest at the end.
  // It has no timer: a chunk comes out as soon as its last sample came in.
  const microphone = (clock: VirtualTimeScheduler): Observable<Uint8Array> =>
    concat(
      of(silence(50)).pipe(delay(60, clock)),
      of(silence(10)).pipe(delay(60, clock)),
      of(silence(70)).pipe(delay(60, clock)),
    )
  await draw('microphone', microphone)
  await draw('chunk', (clock) => microphone(clock).pipe(chunk({ format })))

  title('2. pace: a file at the speed of speech')
  // The whole file is there at once. `pace` lets it out at real time, and completes when the audio would have ended.
  // A character is 10 ms here.
  await draw('file', () => of(silence(200)), undefined, 10)
  await draw('pace', (clock) => of(silence(200)).pipe(pace({ format, scheduler: clock })), undefined, 10)
  await draw('speed 2', (clock) => of(silence(200)).pipe(pace({ format, speed: 2, scheduler: clock })), undefined, 10)

  title('3. interleave: two sides, one of them late')
  // The right side stalls after 60 ms. Until the left is 80 ms ahead nothing is said; then silence stands in for the
  // right, and `onSkew` is told of it, to the millisecond.
  const left = (clock: VirtualTimeScheduler): Observable<Uint8Array> =>
    of(silence(240)).pipe(pace({ format, scheduler: clock }))
  const right = (clock: VirtualTimeScheduler): Observable<Uint8Array> =>
    concat(of(silence(60)).pipe(pace({ format, scheduler: clock })), timer(240, clock).pipe(ignoreElements()))
  const accounts: string[] = []
  await draw('left', left)
  await draw('right', right)
  await draw('interleave', (clock) =>
    interleave(left(clock), right(clock), {
      format,
      maxSkewMs: 80,
      onSkew: ({ type, channel, fromMs, toMs }) => accounts.push(`${type} channel ${channel}: ${fromMs} to ${toMs} ms`),
    }),
  )
  for (const account of accounts) console.log(`            ${account}`)

  title('4. A service that is a marble diagram')
  // `scriptedDial` puts a script in the place of the service. So an app can be tested against a service that is slow,
  // silent or wrong. Here it answers after 100 ms, says two partials, a milestone and something that no protocol knows,
  // and then the line breaks. (s)tate, (r)esponse, (p)artial, (m)ilestone, (u)nknown,
  // (l)edger.
  await draw('session', (clock) => brokenCall(clock), letter)
  await draw('transcript', (clock) => brokenCall(clock).pipe(accumulateMilestones()), ({ channels }) =>
    channels[0]?.partial === '' ? 'C' : 'c',
  )
  console.log('            c: the text has a partial. C: all of it is committed. The # is connection-lost.')

}

/** A service that answers a start after 100 ms, speaks, and goes away without a word. */
const brokenCall = (clock: VirtualTimeScheduler): Observable<SessionEvent> => {
  const say = (fields: Readonly<Record<string, string>>): string => JSON.stringify(fields)
  const script$ = concat(
    of(say({ 'message-name': 'recognize-response', 'operation-result': 'Success' })).pipe(delay(100, clock)),
    of(say({ 'message-name': 'partial-result', text: 'good' })).pipe(delay(60, clock)),
    of(say({ 'message-name': 'partial-result', text: 'good evening' })).pipe(delay(60, clock)),
    of(say({ 'message-name': 'milestone-result', text: 'good evening' })).pipe(delay(60, clock)),
    timer(100, clock).pipe(map(() => say({ 'message-name': 'weather-report', text: 'rain' }))),
    throwError(() => new SpeechError('connection-lost', 'The line broke.')).pipe(startAfter(60, clock)),
  )
  return concat(of(silence(20)), NEVER).pipe(
    recognize({
      url: 'ws://localhost',
      model: 'call',
      // Else the session would go on over another connection.
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

/** The first letter of what the event is; a state of the session is `s`, and what the protocol does not know is `u`. */
const letter = ({ type }: SessionEvent): string => (type === 'connection' ? 's' : type.charAt(0))

void lesson()
