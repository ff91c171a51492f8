import { Observable, Subject, type SchedulerLike, type Unsubscribable } from 'rxjs'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { schedule } from 'rxspeech/internal/kernel/timers'
import { withRecognize, type Engine, type SegmentPart } from '../engine.js'

interface IdleOptions {
  /** How long no channel must use the engine until it leaves memory, in milliseconds. */
  readonly idleMs: number
  readonly scheduler: SchedulerLike
}

type State =
  | { readonly type: 'loaded'; readonly engine: Engine; readonly timer?: Unsubscribable | undefined }
  | { readonly type: 'loading'; readonly engine: Promise<Engine> }
  | { readonly type: 'unloaded'; readonly unloading: Promise<unknown> }
  | { readonly type: 'closed' }

/**
 * Opens an engine that is closed when no channel has used it for a while, and opened again for the next one. The parts
 * of a channel that comes meanwhile wait, as many as the caller sends without progress.
 */
export const openIdleEngine = async (open: () => Promise<Engine>, options: IdleOptions): Promise<Engine> => {
  const { idleMs, scheduler } = options
  const first = await open()
  let users = 0
  let earlierBusyMs = 0
  let state: State = { type: 'loaded', engine: first }

  const unload = (engine: Engine): void => {
    earlierBusyMs += engine.busyMs?.() ?? 0
    state = { type: 'unloaded', unloading: engine.close().catch(() => undefined) }
  }
  const watch = (): void => {
    if (state.type !== 'loaded' || users > 0) return
    const { engine, timer } = state
    timer?.unsubscribe()
    state = { type: 'loaded', engine, timer: schedule(scheduler, idleMs, () => unload(engine)) }
  }
  const load = (): Promise<Engine> => {
    if (state.type === 'closed') return Promise.reject(closedError())
    if (state.type === 'loaded') return Promise.resolve(state.engine)
    if (state.type === 'loading') return state.engine
    const engine = state.unloading.then(open)
    const loading: State = { type: 'loading', engine }
    state = loading
    engine.then(
      (loaded) => {
        if (state !== loading) return
        state = { type: 'loaded', engine: loaded }
        watch()
      },
      () => {
        if (state === loading) state = { type: 'unloaded', unloading: Promise.resolve() }
      },
    )
    return engine
  }
  /** The engine stays while it is used. */
  const begin = (): void => {
    users += 1
    if (state.type === 'loaded') state.timer?.unsubscribe()
  }
  const end = (): void => {
    users -= 1
    watch()
  }
  watch()

  const idle = withRecognize(
    first,
    (settings) => (part$) =>
      new Observable((subscriber) => {
        begin()
        subscriber.add(end)
        if (state.type === 'loaded') {
          subscriber.add(part$.pipe(state.engine.recognize(settings)).subscribe(subscriber))
          return
        }
        const waiting = new WaitingParts(part$)
        subscriber.add(waiting.subscription)
        load().then(
          (engine) => {
            if (subscriber.closed) return
            subscriber.add(waiting.part$.pipe(engine.recognize(settings)).subscribe(subscriber))
            waiting.flow()
          },
          (cause: unknown) => subscriber.error(loadError(cause)),
        )
      }),
  )
  return {
    ...idle,
    waitMs: (speakers) => (state.type === 'loaded' ? (state.engine.waitMs?.(speakers) ?? 0) : 0),
    partialIntervalMs: () => (state.type === 'loaded' ? (state.engine.partialIntervalMs?.() ?? 0) : 0),
    isLoaded: () => state.type === 'loaded',
    ready: () => (state.type === 'loaded' ? state.engine.ready() : Promise.resolve()),
    checkPhrases: async (phrases) => {
      begin()
      try {
        return (await (await load()).checkPhrases?.(phrases)) ?? []
      } finally {
        end()
      }
    },
    busyMs: () => {
      const nowMs = state.type === 'loaded' ? state.engine.busyMs?.() : 0
      return nowMs === undefined ? undefined : earlierBusyMs + nowMs
    },
    memoryBytes: () => (state.type === 'loaded' ? state.engine.memoryBytes?.() : undefined),
    close: async () => {
      const last = state
      state = { type: 'closed' }
      if (last.type === 'loaded') {
        last.timer?.unsubscribe()
        await last.engine.close()
      } else if (last.type === 'loading') await (await last.engine.catch(() => undefined))?.close()
      else if (last.type === 'unloaded') await last.unloading
    },
  }
}

const closedError = (): SpeechError =>
  new SpeechError('engine-failed', 'The recognition engine was closed.', { retryable: false })

const loadError = (cause: unknown): SpeechError =>
  new SpeechError('engine-failed', 'The model could not be loaded again; tell the operator of the service.', { cause })

/** The parts of a channel, kept until they can flow. */
class WaitingParts {
  readonly #live$ = new Subject<SegmentPart>()
  readonly part$ = this.#live$.asObservable()
  readonly subscription: Unsubscribable
  readonly #held: SegmentPart[] = []
  #isFlowing = false
  #end: (() => void) | undefined

  constructor(part$: Observable<SegmentPart>) {
    this.subscription = part$.subscribe({
      next: (part) => (this.#isFlowing ? this.#live$.next(part) : this.#held.push(part)),
      error: (error: unknown) => this.#ends(() => this.#live$.error(error)),
      complete: () => this.#ends(() => this.#live$.complete()),
    })
  }

  /** Parts that come while these flow follow them. */
  flow(): void {
    for (let part = this.#held.shift(); part !== undefined; part = this.#held.shift()) this.#live$.next(part)
    this.#isFlowing = true
    this.#end?.()
  }

  #ends(end: () => void): void {
    if (this.#isFlowing) end()
    else this.#end = end
  }
}
