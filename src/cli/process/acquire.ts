/**
 * Waits for something that has to be closed again. When the signal aborts first, rejects with its reason at once, and
 * closes what comes later.
 */
export const acquire = async <A extends { readonly close: () => Promise<void> }>(
  opening: Promise<A>,
  signal: AbortSignal,
): Promise<A> => {
  let stop = (): void => undefined
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason as Error)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop)
  })
  try {
    return await Promise.race([opening, aborted])
  } catch (error) {
    const ignore = (): void => undefined
    if (signal.aborted) opening.then((late) => late.close()).catch(ignore)
    throw error
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
