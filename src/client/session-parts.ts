import { findSound } from '../audio/silence.js'
import { SecretMask } from '../errors/secret-mask.js'
import { RateLimiter } from './audio/rate-limiter.js'
import { InactivityMonitor } from './audio/inactivity-monitor.js'
import { ResultTimeline } from './results/timeline.js'

/**
 * The parts of a session that are needed from its first connection on. In a browser they are in the chunk of
 * `recognizer/browser-parts.ts`.
 */
export const sessionParts = { findSound, InactivityMonitor, RateLimiter, ResultTimeline, SecretMask }
export type SessionParts = typeof sessionParts
