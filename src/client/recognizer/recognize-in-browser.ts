import type { Slots } from '../../protocol/session-event.js'
import type { WithUrls } from '../failover/failover.js'
import type { Recognition } from '../session.js'
import { recognizeOn, type RecognizeOptions, type RecognizeParts, type RecognizePlatform } from './recognize-on.js'

/** Loaded with the first connection, so that a page starts with less code; audio is buffered meanwhile. */
const loadParts = async (): Promise<RecognizeParts> => import('./browser-parts.js')

const platform: RecognizePlatform = { loadParts }

/**
 * `recognize` in a browser: it uses the WebSocket of the browser and takes one channel, because a page has one microphone;
 * stereo is refused with `invalid-format`. The first connection loads the rest of the code; if that fails, the error is
 * `connection-failed`. Several addresses are refused, too, so that a page loads `failover` only if it uses it.
 */
export const recognize = <S extends Slots = Slots>(options: WithUrls<RecognizeOptions>): Recognition<S> =>
  recognizeOn(platform, options as RecognizeOptions) as Recognition<S>
