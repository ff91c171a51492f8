import { Observable, type OperatorFunction, type Subscriber } from 'rxjs'

/** Hands over what opens, and frees it when the subscriber ends or has ended before. */
const openFor = <Resource extends { free(): void }>(
  subscriber: Subscriber<unknown>,
  open: () => Resource | PromiseLike<Resource>,
  accept: (resource: Resource) => void,
): void => {
  const take = (resource: Resource): void => {
    subscriber.add(() => {
      resource.free()
    })
    if (!subscriber.closed) accept(resource)
  }
  const opening = open()
  if (!('then' in opening)) {
    take(opening)
    return
  }
  opening.then(take, (error: unknown) => {
    subscriber.error(error)
  })
}

/**
 * Opens a resource on subscription, at once or later, and turns each input into outputs by it. Inputs that come before it has opened, or
 * from within an output, wait in line, without a bound: whoever gives them has to keep one. The line is worked off in a
 * loop, since a nested operator for each waiting input (`concatMap`) overflows the stack on a few hundred of them.
 *
 * Completes when the source did and the line is empty. Errors of the source, of `open` and of `use` pass through.
 * However it ends the resource is freed, also when it opens only later.
 */
export const useResource =
  <Resource extends { free(): void }, In, Out>(
    open: () => Resource | PromiseLike<Resource>,
    use: (resource: Resource, input: In) => readonly Out[],
  ): OperatorFunction<In, Out> =>
  (source$) =>
    new Observable((subscriber) => {
      let line: In[] = []
      let resource: Resource | undefined
      let working = false
      let sourceDone = false

      const work = (opened: Resource): void => {
        working = true
        while (line.length > 0) {
          const inputs = line
          line = []
          for (const input of inputs) {
            for (const output of use(opened, input)) {
              if (subscriber.closed) return
              subscriber.next(output)
            }
            if (subscriber.closed) return
          }
        }
        working = false
        if (sourceDone) subscriber.complete()
      }
      const tryToWork = (): void => {
        if (resource === undefined || working) return
        try {
          work(resource)
        } catch (error) {
          subscriber.error(error)
        }
      }

      openFor(subscriber, open, (opened) => {
        resource = opened
        tryToWork()
      })
      subscriber.add(
        source$.subscribe({
          next: (input) => {
            line.push(input)
            tryToWork()
          },
          error: (error: unknown) => {
            subscriber.error(error)
          },
          complete: () => {
            sourceDone = true
            tryToWork()
          },
        }),
      )
    })
