// What `recognize` in a browser needs from its first connection on. It is a separate chunk, loaded while the session
// connects: 10 kB of 30 kB (gzip, without RxJS), so that a page starts with 20 kB.
export { dialBrowserSocket as dialSocket } from '../../transport/websocket/browser-client.js'
export { sessionParts } from '../session-parts.js'
export { presentToken } from './present-token.js'
export { RecognizerProtocol } from './protocol.js'
export { recognizeRequestOf } from './request.js'
