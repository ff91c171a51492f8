import { Observable, type MonoTypeOperatorFunction, type OperatorFunction, type Subscriber } from 'rxjs'
import { Mailbox } from 'rxspeech/internal/kernel/mailbox'

/** Something that is opened for a subscription and freed with it. */
export interface Freeable {
  readonly free?: (() => unknown) | undefined
}

const opened = Symbol('opened')
const completed = Symbol('completed')
type Posted<In> = In | typeof opened | typeof completed

/**
 * Opens a resource on subscription, at once or later, and turns each input into outputs with it, one input after
 * another: an input that arrives before the resource is open, or while outputs are emitted, waits in the mailbox. The
 * number of waiting inputs is not bounded here; the caller has to bound it.
 *
 * When the source completes, `finish` returns the last outputs. Errors of the source, of `open`, `use` and `finish`
 * pass through. The resource is freed when the subscription ends, also if it opens only after that.
 */
export const useResource =
  <Resource extends Freeable, In, Out>(
    open: () => Resource | PromiseLike<Resource>,
    use: (resource: Resource, input: In) => readonly Out[],
    finish?: (resource: Resource) => readonly Out[],
  ): OperatorFunction<In, Out> =>
  (source$) =>
    new Observable((subscriber) => {
      let resource: Resource | undefined
      let early: Posted<In>[] = []
      const emit = (outputs: readonly Out[]): void => {
        for (const output of outputs) {
          if (subscriber.closed) return
          subscriber.next(output)
        }
      }
      const apply = (ready: Resource, input: Posted<In>): void => {
        if (subscriber.closed) return
        if (input === opened) {
          const waiting = early
          early = []
          for (const item of waiting) apply(ready, item)
        } else if (input === completed) {
          if (finish !== undefined) emit(finish(ready))
          subscriber.complete()
        } else emit(use(ready, input))
      }
      const mailbox = new Mailbox<Posted<In>>((input) => {
        try {
          if (resource === undefined) early.push(input)
          else apply(resource, input)
        } catch (error) {
          subscriber.error(error)
        }
      })

      openFor(subscriber, open, (ready) => {
        resource = ready
        mailbox.post(opened)
      })
      subscriber.add(
        source$.subscribe({
          next: (input) => mailbox.post(input),
          error: (error: unknown) => subscriber.error(error),
          complete: () => mailbox.post(completed),
        }),
      )
    })

/** Emits the opened resource, and frees it when the subscriber ends or has ended before. */
const openFor = <Resource extends Freeable>(
  subscriber: Subscriber<unknown>,
  open: () => Resource | PromiseLike<Resource>,
  accept: (resource: Resource) => void,
): void => {
  const take = (resource: Resource): void => {
    subscriber.add(() => {
      resource.free?.()
    })
    if (!subscriber.closed) accept(resource)
  }
  const opening = open()
  if ('then' in opening) opening.then(take, (error: unknown) => subscriber.error(error))
  else take(opening)
}

/**
 * Emits values one after another: a value that arrives while another is emitted (a subscriber that answers at once)
 * waits until every subscriber has received that one. Subscribers behind a `connect` would otherwise see the later
 * value first.
 */
export const serialize = <T>(): MonoTypeOperatorFunction<T> =>
  useResource(
    () => nothing,
    (_nothing, value: T) => [value],
  )

const nothing: Freeable = {}
