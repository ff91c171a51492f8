/**
 * The entry point for tests and notebooks, for Node.
 *
 * @module rxspeech/testing
 */
export { drawMarbles, type DrawMarblesOptions } from './testing/draw-marbles.js'
export { scriptedDial, type ScriptedPeer } from './testing/scripted-dial.js'
export type {
  RecognitionScript,
  ScriptedFailure,
  ScriptedItem,
  ScriptedUtterance,
  ScriptedWord,
  SessionScript,
} from './testing/scripted/recognition-script.js'
export {
  scriptedRecognizer,
  type RecognitionPeer,
  type ScriptedRecognizerOptions,
} from './testing/scripted/scripted-recognizer.js'
export type { MemoryLinkOptions, PresentedAddress } from './transport/memory/link.js'
export type { AppliedFault } from './testing/faults/fault-director.js'
export { faultLegend, faultMarbles, type FaultMarblesOptions } from './testing/faults/fault-marbles.js'
export { faultProxy, type FaultProxy, type FaultProxyOptions } from './testing/faults/fault-proxy.js'
export type { Direction, Fault, FaultMoment, FaultScript, FaultStep } from './testing/faults/fault-script.js'
export { linkFaults, type LinkFaults, type LinkFaultsOptions } from './testing/faults/link-faults.js'
export { positionAudio, type ReceivedRun, type SampleRange } from './testing/verifying/position-audio.js'
export type { MemoryDials, PresetOptions } from './testing/verifying/memory-peer.js'
export type { VerifyingBehavior } from './testing/verifying/recognition.js'
export type { ConnectionReport, VerificationReport } from './testing/verifying/report.js'
export type { VerifyingListener, VerifyingListenOptions } from './testing/verifying/listener.js'
export { verifyingService, type VerifiedSource, type VerifyingService } from './testing/verifying/verifying-service.js'
export { expectNoHandles, type HandleOptions, type OpenHandle } from './testing/open-handles.js'
export { faultScripts, type FaultScripts, type NamedFault } from './testing/faults/named-faults.js'

// The option `testing` of sessions, and what a test passes there

export type { SessionTestingOptions, TestingOptions } from './client/options.js'
export type { CloseReason, DataflowMessage, Dial, Link, SocketMessage } from './transport/link.js'
export type { GrpcDialOptions } from './transport/grpc/client.js'
export type { WebSocketDialOptions } from './transport/websocket/dial.js'
