import type { MonoTypeOperatorFunction } from 'rxjs'
import { useResource } from './use-resource.js'

const nothing = { free: () => undefined }

/**
 * Passes values on one after the other: one that comes in the middle of another, as when a listener answers at once, waits
 * until every subscriber has had that one. Otherwise those further down a `merge` would hear the later value first.
 */
export const inTurn = <T>(): MonoTypeOperatorFunction<T> =>
  useResource(
    () => nothing,
    (_nothing, value: T) => [value],
  )
