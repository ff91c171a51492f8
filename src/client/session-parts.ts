import { SecretMask } from '../errors/secret-mask.js'
import { RateLimiter } from './audio/rate-limiter.js'
import { InactivityMonitor } from './audio/inactivity-monitor.js'
import { ResultTimeline } from './results/timeline.js'

/** The parts of a session that are needed from its first connection on. A browser loads them while it connects. */
export const sessionParts = { InactivityMonitor, RateLimiter, ResultTimeline, SecretMask }
export type SessionParts = typeof sessionParts
