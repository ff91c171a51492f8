import { SecretMask } from '../errors/secret-mask.js'
import { RateLimiter } from './audio/rate-limiter.js'
import { InactivityMonitor } from './audio/inactivity-monitor.js'
import { ResultTimeline } from './results/timeline.js'

/** What a session needs from its first connection on and not before: a browser loads it while it connects. */
export const sessionParts = { InactivityMonitor, RateLimiter, ResultTimeline, SecretMask }
export type SessionParts = typeof sessionParts
