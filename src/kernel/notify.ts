import { config } from 'rxjs'

/** Reports an unhandled error as RxJS does: later, to `config.onUnhandledError`, or as an uncaught exception. */
export const reportUnhandled = (error: unknown): void => {
  setTimeout(() => {
    if (config.onUnhandledError === null) throw error
    config.onUnhandledError(error)
  })
}

/** Calls a function of the user that only observes: its exception is reported, and the caller continues. */
export const notify = (observe: () => void): void => {
  try {
    observe()
  } catch (error) {
    reportUnhandled(error)
  }
}
