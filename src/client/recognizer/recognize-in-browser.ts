import {
  recognizeOn,
  type Recognition,
  type RecognizeOptions,
  type RecognizeParts,
  type RecognizePlatform,
} from './recognize-on.js'

/** A page that only listens in later begins with less; what is captured until the code is there is held as always. */
const loadParts = async (): Promise<RecognizeParts> => import('./browser-parts.js')

const platform: RecognizePlatform = { loadParts }

/**
 * `recognize` of a browser: over its own WebSocket, and of one channel, for a page has one microphone; stereo is refused
 * with `invalid-format`. The first connection loads the rest of the code; where that fails, `connection-failed`.
 */
export const recognize = (options: RecognizeOptions): Recognition => recognizeOn(platform, options)
