import type { Pausable } from '../../src/sessions/back-pressure.js'

/** Records its calls, and whether it is paused now. */
export const recordedLink = (): Pausable & { readonly calls: readonly string[]; readonly paused: boolean } => {
  const calls: string[] = []
  return {
    pause: () => calls.push('pause'),
    resume: () => calls.push('resume'),
    calls,
    get paused() {
      return calls.at(-1) === 'pause'
    },
  }
}
