/** What `defined` leaves of an object. */
type Defined<A> = { [Key in keyof A]?: Exclude<A[Key], undefined> } & {
  [Key in keyof A as undefined extends A[Key] ? never : Key]: A[Key]
}

/** The object without its undefined fields, so that the defaults of the library apply to absent flags. */
export const defined = <A extends object>(fields: A): Defined<NoInfer<A>> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<NoInfer<A>>
