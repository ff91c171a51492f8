// What a session in a browser needs once it connects: a chunk of its own, which `recognizeInBrowser` loads.
export { dialBrowserSocket as dialSocket } from '../../transport/websocket/browser-client.js'
export { sessionParts } from '../session-parts.js'
export { presentToken } from './present-token.js'
export { RecognizerProtocol } from './protocol.js'
