/** The code that Node and its packages put on an error, such as `ECONNREFUSED`; undefined if there is none. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
