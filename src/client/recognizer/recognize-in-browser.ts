import {
  recognizeOn,
  type Recognition,
  type RecognizeOptions,
  type RecognizeParts,
  type RecognizePlatform,
} from './recognize-on.js'

/** Loaded on the first connection, so that a page starts with less code; audio is buffered meanwhile. */
const loadParts = async (): Promise<RecognizeParts> => import('./browser-parts.js')

const platform: RecognizePlatform = { loadParts }

/**
 * `recognize` of a browser: over its own WebSocket, and of one channel, for a page has one microphone; stereo is refused
 * with `invalid-format`. The first connection loads the rest of the code; where that fails, `connection-failed`.
 */
export const recognize = (options: RecognizeOptions): Recognition => recognizeOn(platform, options)
