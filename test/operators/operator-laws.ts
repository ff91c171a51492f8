import type { OperatorFunction } from 'rxjs'
import { it } from 'vitest'
import { marbles } from './marbles.js'

/** An operator of one source, and what it makes of a source. */
export interface DrawnOperator<In, Out> {
  readonly operator: () => OperatorFunction<In, Out>
  readonly values: Readonly<Record<string, In>>
  readonly outputs: Readonly<Record<string, Out>>
  /** One frame for each character; completes with the last. As in all diagrams, spaces align. */
  readonly source: string
  readonly expected: string
  /** What a source emits that has an error in place of its second value. */
  readonly failed: string
}

/** The laws of every operator of one source: it ends with its source, and each subscription is a run of its own. */
export const itIsAnOperator = <In, Out>(drawn: DrawnOperator<In, Out>): void => {
  const { operator, values, outputs } = drawn
  const [source, expected, failed] = [drawn.source.trim(), drawn.expected.trim(), drawn.failed.trim()]
  const becomes = (source: string, subscription: string, expected: string): void =>
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold<In>(source, { ...values })
      expectObservable(source$.pipe(operator())).toBe(expected, { ...outputs })
      expectSubscriptions(source$.subscriptions).toBe(subscription)
    })
  const after = (frames: number): string => '-'.repeat(frames)
  const whole = `^${after(source.length - 2)}!`

  it('emits for the values of the source, and completes with it', () => becomes(source, whole, expected))

  it('completes empty when the source is empty', () => becomes('--|', '^-!', '--|'))

  it('emits nothing while the source emits nothing', () => becomes('-', '^', '-'))

  it('passes an error of the source on, after what came before', () =>
    becomes(`${source.slice(0, 3)}#`, '^--!', failed))

  it('unsubscribes from the source early, and starts again with a new subscription', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold<In>(source, { ...values })
      const result$ = source$.pipe(operator())
      expectObservable(result$, '^-!').toBe(expected.slice(0, 2), { ...outputs })
      expectObservable(result$, '----^').toBe(after(4) + expected, { ...outputs })
      expectSubscriptions(source$.subscriptions).toBe(['^-!', after(4) + whole])
    })
  })
}
