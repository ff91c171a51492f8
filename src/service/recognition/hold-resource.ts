import { Observable } from 'rxjs'

/**
 * Opens a resource on subscription and emits it once; never completes by itself. Unsubscription frees it, also when it
 * comes only later. Errors as `open` rejects. Buffers nothing.
 */
export function holdResource<T extends { free(): void }>(open: () => PromiseLike<T>): Observable<T> {
  return new Observable((subscriber) => {
    let held: T | undefined
    open().then(
      (resource) => {
        if (subscriber.closed) {
          resource.free()
          return
        }
        held = resource
        subscriber.next(resource)
      },
      (error: unknown) => {
        subscriber.error(error)
      },
    )
    return () => held?.free()
  })
}
