import { Subject, type Subscription } from 'rxjs'
import type { Engine, Hypothesis, SegmentPart } from '../../src/service/engines/engine.js'

type Test = (said: readonly Hypothesis[]) => boolean

/** One channel of one session with an engine: what it is told by hand, and what it said. */
export class Listening {
  readonly said: Hypothesis[] = []
  /** `open`, `complete`, or the error. */
  end: unknown = 'open'
  given = 0
  private readonly part$ = new Subject<SegmentPart>()
  private readonly subscription: Subscription
  private readonly waiting = new Set<{ readonly test: Test; readonly done: () => void }>()

  constructor(engine: Engine) {
    this.subscription = this.part$.pipe(engine.recognize()).subscribe({
      next: (hypothesis) => {
        this.said.push(hypothesis)
        this.look()
      },
      error: (error: unknown) => this.over(error),
      complete: () => this.over('complete'),
    })
  }

  tell(...parts: readonly SegmentPart[]): this {
    for (const part of parts) {
      if (part.type === 'audio') this.given += part.samples.length
      this.part$.next(part)
    }
    return this
  }

  complete(): this {
    this.part$.complete()
    return this
  }

  unsubscribe(): void {
    this.subscription.unsubscribe()
  }

  /** Resolves when what was said passes; rejects when the lane ends before. */
  async until(test: Test): Promise<void> {
    if (test(this.said)) return
    await new Promise<void>((resolve) => {
      if (this.end === 'open') this.waiting.add({ test, done: resolve })
      else resolve()
    })
    if (!test(this.said)) throw new Error(`The lane ended before, with ${String(this.end)}`)
  }

  /** Resolves when the lane has ended, however it did. */
  async ended(): Promise<unknown> {
    if (this.end === 'open') {
      await new Promise<void>((resolve) => this.waiting.add({ test: () => this.end !== 'open', done: resolve }))
    }
    return this.end
  }

  get taken(): number {
    return this.said.reduce((sum, one) => sum + (one.type === 'progress' ? one.sampleCount : 0), 0)
  }

  get segments(): readonly (Hypothesis & { readonly type: 'segment' })[] {
    return this.said.flatMap((one) => (one.type === 'segment' ? [one] : []))
  }

  get partials(): readonly (Hypothesis & { readonly type: 'partial' })[] {
    return this.said.flatMap((one) => (one.type === 'partial' ? [one] : []))
  }

  private over(end: unknown): void {
    this.end = end
    this.look()
  }

  private look(): void {
    for (const one of this.waiting) {
      if (this.end === 'open' && !one.test(this.said)) continue
      this.waiting.delete(one)
      one.done()
    }
  }
}

/** Waits for so many segments. */
export const segments =
  (count: number): Test =>
  (said) =>
    said.filter(({ type }) => type === 'segment').length >= count
export const aPartial: Test = (said) => said.some(({ type }) => type === 'partial')
export const someProgress: Test = (said) => said.some(({ type }) => type === 'progress')
