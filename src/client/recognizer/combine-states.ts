import { sessionStates, type AnnouncedState } from '../../protocol/states.js'

/**
 * Where a pair of sessions stands as one: failed as soon as one has failed, stopped or done when both have ended, else
 * where the one is that is behind.
 */
export const combineStates = (left: AnnouncedState, right: AnnouncedState): AnnouncedState => {
  if (left === 'failed' || right === 'failed') return 'failed'
  if (hasEnded(left) && hasEnded(right)) return left === right ? left : 'stopped'
  return sessionStates.indexOf(left) < sessionStates.indexOf(right) ? left : right
}

const hasEnded = (state: AnnouncedState): boolean => state === 'done' || state === 'stopped'
