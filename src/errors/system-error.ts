/** The `code` of an error of Node, of SQLite or of a package, such as 'ENOENT'; undefined where it has none. */
export const systemErrorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
