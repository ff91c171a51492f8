/** A parsed JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The same properties, of which none may be `undefined`. */
export type Defined<A> = { [K in keyof A]: Exclude<A[K], undefined> }

/** The properties of an object that have a value. */
export const withoutUndefined = <A extends object>(object: A): Defined<A> =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as Defined<A>
