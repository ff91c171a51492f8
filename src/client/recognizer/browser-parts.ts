// The parts of a session that a browser needs once it connects: a separate chunk, which `recognizeInBrowser` loads.
export { dialBrowserSocket as dialSocket } from '../../transport/websocket/browser-client.js'
export { sessionParts } from '../session-parts.js'
export { presentToken } from './present-token.js'
export { RecognizerProtocol } from './protocol.js'
export { recognizeRequestOf } from './request.js'
