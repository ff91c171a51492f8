export interface Turnstile {
  /** Runs the work when its turn comes; `undefined` at once when too many wait already. */
  pass<T>(work: () => Promise<T>): Promise<T> | undefined
}

/** Lets `atOnce` pieces of work run and `waiting` more stand in line, first come, first served. */
export const createTurnstile = ({ atOnce, waiting }: { atOnce: number; waiting: number }): Turnstile => {
  const line: (() => void)[] = []
  let running = 0

  const enter = (): Promise<void> => {
    if (running < atOnce) {
      running += 1
      return Promise.resolve()
    }
    return new Promise((resolve) => line.push(resolve))
  }

  // Who leaves hands the place to the next in line, so `running` stays as it is.
  const leave = (): void => {
    const next = line.shift()
    if (next === undefined) running -= 1
    else next()
  }

  const passThrough = async <T>(work: () => Promise<T>): Promise<T> => {
    await enter()
    try {
      return await work()
    } finally {
      leave()
    }
  }

  return { pass: (work) => (running >= atOnce && line.length >= waiting ? undefined : passThrough(work)) }
}
