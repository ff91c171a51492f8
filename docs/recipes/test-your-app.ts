// Tests an application against a misbehaving service, in virtual time.
//
//   npm run build && npx ts-node docs/recipes/test-your-app.ts
//
// The code under test shows a text and, when the session fails, whether to try again. The service is a marble diagram,
// which `scriptedDial` puts in place of the connection. Use the same code in your test runner.

import { catchError, concat, map, NEVER, of, type Observable } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { deepStrictEqual } from 'node:assert'
import { transcript, isSpeechError, recognize, SpeechError, type SessionEvent } from 'rxspeech'
import { scriptedDial } from 'rxspeech/testing'

/** The code under test. */
const screen = (session$: Observable<SessionEvent>): Observable<string> =>
  session$.pipe(
    transcript(),
    map(({ text }) => text),
    catchError((error: unknown) =>
      of(isSpeechError(error) && error.retryable ? 'Connection problem, trying again.' : 'Please call the help desk.'),
    ),
  )

/** Messages of the service, by the letters of the diagram. */
const messages = {
  r: { 'message-name': 'recognize-response', 'operation-result': 'Success' },
  p: { 'message-name': 'partial-result', text: 'good' },
  m: { 'message-name': 'milestone-result', text: 'good morning' },
  x: { 'message-name': 'recognize-response', 'operation-result': 'model-denied: No such model.' },
}

const check = (
  title: string,
  service: string,
  error: SpeechError | undefined,
  expected: string,
  texts: object,
): void => {
  const scheduler = new TestScheduler((actual, wanted) => deepStrictEqual(actual, wanted))
  scheduler.run(({ cold, expectObservable }) => {
    const messages$ = cold(service, messages, error).pipe(map((message) => JSON.stringify(message)))
    const session$ = concat(of(new Uint8Array(320)), NEVER).pipe(
      recognize({
        url: 'ws://localhost',
        token: 'any',
        model: 'any',
        format: { encoding: 'pcm', sampleRateHz: 8000, channels: 1 },
        // Otherwise the session would reconnect after the error.
        resumption: false,
        testing: { scheduler, dial: scriptedDial(() => messages$) },
      }),
    )
    expectObservable(screen(session$)).toBe(expected, texts)
  })
  console.log(`passed: ${title}`)
}

const broken = new SpeechError('connection-lost', 'The connection broke.')
check('shows the text as it grows', '10ms r 9ms p 9ms m--', undefined, '20ms p 9ms m--', {
  p: 'good',
  m: 'good morning',
})
check('tries again when the connection breaks', '10ms r 9ms p 9ms #', broken, '20ms p 9ms (e|)', {
  p: 'good',
  e: 'Connection problem, trying again.',
})
check('gives up on a refusal', '10ms x', undefined, '10ms (e|)', { e: 'Please call the help desk.' })
check('tries again when the service does not answer', '-', undefined, '10s (e|)', {
  e: 'Connection problem, trying again.',
})
