/** The same properties, of which none may be `undefined`. */
export type Defined<A> = { [K in keyof A]: Exclude<A[K], undefined> }

/** The properties of an object that have a value. */
export const withoutUndefined = <A extends object>(object: A): Defined<A> =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as Defined<A>
