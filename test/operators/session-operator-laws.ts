import type { OperatorFunction } from 'rxjs'
import { expect, it } from 'vitest'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import { marbles } from './marbles.js'

/** How to draw an operator that reports at the end: an event that it reports, and the names of its outputs. */
export interface ReportingOperator<Out> {
  readonly operator: () => OperatorFunction<SessionEvent, Out>
  /** An event that makes it emit, and one that does not. */
  readonly reported: SessionEvent
  readonly unreported: SessionEvent
  /** `e` for what is emitted for the event, `r` for the report, `f` for that of a failure. */
  readonly nameOf: (out: Out) => 'e' | 'r' | 'f'
}

/** The laws of every operator that emits for some events, and once more at the end. */
export const itReportsAtTheEnd = <Out>({ operator, reported, unreported, nameOf }: ReportingOperator<Out>): void => {
  const values = { a: reported, o: unreported }
  /** Emissions by their names; a frame is a millisecond. */
  const drawn = (source: string, unsubscribe?: string): { out: string[]; subscriptions: unknown } => {
    const out: string[] = []
    let subscriptions: unknown
    marbles(({ cold, scheduler }) => {
      const source$ = cold<SessionEvent>(source, values)
      const subscription = source$.pipe(operator()).subscribe({
        next: (value) => out.push(`${scheduler.now()} ${nameOf(value)}`),
        error: () => out.push(`${scheduler.now()} error`),
        complete: () => out.push(`${scheduler.now()} end`),
      })
      if (unsubscribe !== undefined) scheduler.schedule(() => subscription.unsubscribe(), unsubscribe.indexOf('!'))
      scheduler.flush()
      subscriptions = source$.subscriptions.map(({ subscribedFrame, unsubscribedFrame }) => [
        subscribedFrame,
        unsubscribedFrame,
      ])
    })
    return { out, subscriptions }
  }

  it('emits for its events, and reports when the source completes', () => {
    expect(drawn('-o-a-o-a|')).toEqual({ out: ['3 e', '7 e', '8 r', '8 end'], subscriptions: [[0, 8]] })
  })
  it('reports for an empty source, and waits while the source emits nothing', () => {
    expect(drawn('--|')).toEqual({ out: ['2 r', '2 end'], subscriptions: [[0, 2]] })
    expect(drawn('-', '---!')).toEqual({ out: [], subscriptions: [[0, 3]] })
  })
  it('reports when the source fails, then passes the error on', () => {
    expect(drawn('-a-#')).toEqual({ out: ['1 e', '3 f', '3 error'], subscriptions: [[0, 3]] })
  })
  it('unsubscribes early without a report', () => {
    expect(drawn('-a-a-|', '--!')).toEqual({ out: ['1 e'], subscriptions: [[0, 2]] })
  })
}
