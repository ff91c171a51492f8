import { Subject, type Subscription } from 'rxjs'
import type { Engine, Hypothesis, RecognizeSettings, SegmentPart } from '../../src/engine.js'

type Test = (output: readonly Hypothesis[]) => boolean

/** One channel of an engine, with manual inputs and recorded outputs. */
export class TestChannel {
  readonly output: Hypothesis[] = []
  /** `open`, `complete`, or the error. */
  end: unknown = 'open'
  sentSamples = 0
  readonly #part$ = new Subject<SegmentPart>()
  readonly #subscription: Subscription
  readonly #waiting = new Set<{ readonly test: Test; readonly done: () => void }>()

  constructor(engine: Engine, settings?: RecognizeSettings) {
    this.#subscription = this.#part$.pipe(engine.recognize(settings)).subscribe({
      next: (hypothesis) => {
        this.output.push(hypothesis)
        this.#check()
      },
      error: (error: unknown) => this.#finish(error),
      complete: () => this.#finish('complete'),
    })
  }

  send(...parts: readonly SegmentPart[]): this {
    for (const part of parts) {
      if (part.type === 'audio') this.sentSamples += part.samples.length
      this.#part$.next(part)
    }
    return this
  }

  complete(): this {
    this.#part$.complete()
    return this
  }

  unsubscribe(): void {
    this.#subscription.unsubscribe()
  }

  /** Resolves when the output passes the test; rejects if the channel ends before. */
  async until(test: Test): Promise<void> {
    if (test(this.output)) return
    await new Promise<void>((resolve) => {
      if (this.end === 'open') this.#waiting.add({ test, done: resolve })
      else resolve()
    })
    if (!test(this.output)) throw new Error(`The channel ended before, with ${String(this.end)}`)
  }

  /** Resolves with the end of the channel. */
  async ended(): Promise<unknown> {
    if (this.end === 'open') {
      await new Promise<void>((resolve) => this.#waiting.add({ test: () => this.end !== 'open', done: resolve }))
    }
    return this.end
  }

  get processedSamples(): number {
    return this.output.reduce(
      (sum, hypothesis) => sum + (hypothesis.type === 'progress' ? hypothesis.sampleCount : 0),
      0,
    )
  }

  get segments(): readonly (Hypothesis & { readonly type: 'segment' })[] {
    return this.output.flatMap((hypothesis) => (hypothesis.type === 'segment' ? [hypothesis] : []))
  }

  get partials(): readonly (Hypothesis & { readonly type: 'partial' })[] {
    return this.output.flatMap((hypothesis) => (hypothesis.type === 'partial' ? [hypothesis] : []))
  }

  #finish(end: unknown): void {
    this.end = end
    this.#check()
  }

  #check(): void {
    for (const item of this.#waiting) {
      if (this.end === 'open' && !item.test(this.output)) continue
      this.#waiting.delete(item)
      item.done()
    }
  }
}

/** Waits for a number of segments. */
export const segments =
  (count: number): Test =>
  (output) =>
    output.filter(({ type }) => type === 'segment').length >= count
export const aPartial: Test = (output) => output.some(({ type }) => type === 'partial')
export const someProgress: Test = (output) => output.some(({ type }) => type === 'progress')
