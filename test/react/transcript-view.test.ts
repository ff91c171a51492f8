import { concat, NEVER, Observable, of, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../src/errors/speech-error.js'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import { noTranscript, watchTranscript, type TranscriptView } from '../../src/react/transcript-view.js'

const events: readonly SessionEvent[] = [
  { type: 'connection', state: 'streaming' },
  { type: 'partial', text: 'one' },
  { type: 'partial', text: 'one' },
  {
    type: 'ledger',
    capturedMs: 0,
    finalizedMs: 0,
    pendingMs: 0,
    replayedPendingMs: 0,
    droppedMs: 0,
    sentMs: 0,
    estimated: false,
  },
  { type: 'milestone', text: 'one two' },
  { type: 'connection', state: 'done' },
]

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))

const viewsOf = async (session$: Observable<SessionEvent>): Promise<readonly TranscriptView[]> => {
  const views: TranscriptView[] = []
  watchTranscript(session$).subscribe((view) => views.push(view))
  await turn()
  return views
}

describe('the view of a session', () => {
  it('changes with states and texts only, and keeps the text at the end', async () => {
    const views = await viewsOf(of(...events))
    expect(views.map(({ state, text }) => [state, text])).toEqual([
      ['streaming', ''],
      ['streaming', 'one'],
      ['streaming', 'one two'],
      ['done', 'one two'],
    ])
    expect(views.at(-1)?.channels[0]).toMatchObject({ committed: 'one two', partial: '' })
    expect(views.map(({ status }) => status.type)).toEqual(['live', 'live', 'live', 'ended'])
    expect(views.at(-1)?.lines).toMatchObject([{ key: 1, committed: 'one two', isDefinitive: true }])
  })

  it('ends with the error of the session, beside the text so far', async () => {
    const error = new SpeechError('connection-lost', 'The connection broke.')
    const views = await viewsOf(
      concat(
        of(...events.slice(0, 5)),
        throwError(() => error),
      ),
    )
    const status = { type: 'ended', outcome: 'failed', error, lostMs: 0 }
    expect(views.at(-1)).toMatchObject({ state: 'failed', status, text: 'one two', lines: [{ key: 1 }], error })
  })

  it('subscribes to no session when it is left in the same turn, as React does in strict mode', async () => {
    let subscriptions = 0
    const session$ = new Observable<SessionEvent>((subscriber) => {
      subscriptions += 1
      return NEVER.subscribe(subscriber)
    })
    watchTranscript(session$).subscribe().unsubscribe()
    const second = watchTranscript(session$).subscribe()
    await turn()
    expect(subscriptions).toBe(1)
    second.unsubscribe()
  })

  it('is empty before a session', () => {
    const status = { type: 'idle', lostMs: 0 }
    expect(noTranscript).toEqual({ text: '', channels: [], lines: [], state: 'idle', status, error: undefined })
  })
})
