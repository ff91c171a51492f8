/**
 * Hooks for React 18 and later: a microphone, a session, and the transcript of any session. They work in strict mode.
 *
 * @module rxspeech/react
 */
import { recognize } from './client/recognizer/recognize.js'
import { microphone } from './microphone/microphone.js'
import { createUseMicrophone, type MicrophoneView, type UseMicrophoneOptions } from './react/use-microphone.js'
import { createUseSession, type SessionControls, type UseSessionOptions } from './react/use-session.js'

export type { TranscriptView } from './react/transcript-view.js'
export type { MicrophoneView, UseMicrophoneOptions } from './react/use-microphone.js'
export type { SessionAudio, SessionControls, UseSessionOptions } from './react/use-session.js'
export { useTranscript } from './react/use-transcript.js'

/**
 * A microphone for `useSession`. It asks for the permission and records only while a session reads `audio$`. Its errors
 * are those of the session. Constraints and the address of the worklet are those of the first render.
 *
 * @example
 * const { audio$, state, level } = useMicrophone({ sampleRateHz: 16_000 })
 * const meter = `${state}: ${level.peak}`
 */
export const useMicrophone: (options?: UseMicrophoneOptions) => MicrophoneView =
  /* @__PURE__ */ createUseMicrophone(microphone)

/**
 * One session at a time, started and ended by the user, such as dictation with a button. Unmounting aborts it. Errors,
 * also those of invalid options and of the microphone, are in `error`.
 *
 * @example
 * const { audio$ } = useMicrophone()
 * const { text, isRunning, start, finalize, error } = useSession({ url, token, model: 'call' })
 * const onClick = () => (isRunning ? finalize() : start(audio$))
 */
export const useSession: (options: UseSessionOptions) => SessionControls = /* @__PURE__ */ createUseSession(recognize)
