import type { JsonObject } from 'rxspeech/internal/protocol/json-object'
import type { RecognitionParameters } from 'rxspeech/internal/protocol/recognition-parameters'
import type { RecognizeRequest } from 'rxspeech/internal/protocol/recognizer-messages'
import type { NamedModel } from 'rxspeech-server/listen/dialect'

/** The audio of a client: 16-bit samples of one channel, or µ-law or A-law at 8000 Hz. */
export interface InputFormat {
  readonly type: 'audio/pcm' | 'audio/pcmu' | 'audio/pcma'
  readonly rate: number
}

/** The settings of a session, which `session.update` changes. */
export interface SessionSettings {
  readonly type: 'transcription' | 'realtime'
  readonly format: InputFormat
  readonly model: string | undefined
  readonly language: string | undefined
  readonly keywords: readonly string[]
  readonly delay: Delay | undefined
  /** Who divides the audio: the client by its commits, or the service. */
  readonly turns: 'client' | 'server_vad' | 'semantic_vad'
  /** Of `server_vad`. */
  readonly voiceActivity: VoiceActivity
}

/** How soon a client wants its text, from the soonest on. */
type Delay = (typeof delays)[number]
export const delays = ['minimal', 'low', 'medium', 'high', 'xhigh'] as const

/** Whether words are sent before it is definitive how they are written. */
export const isEarly = ({ delay }: SessionSettings): boolean => delay !== 'high' && delay !== 'xhigh'

export interface VoiceActivity {
  readonly threshold: number
  readonly prefix_padding_ms: number
  readonly silence_duration_ms: number
}

export const defaultVoiceActivity: VoiceActivity = { threshold: 0.5, prefix_padding_ms: 300, silence_duration_ms: 500 }

export const defaultSettings: SessionSettings = {
  type: 'transcription',
  format: { type: 'audio/pcm', rate: 24_000 },
  model: undefined,
  language: undefined,
  keywords: [],
  delay: undefined,
  turns: 'server_vad',
  voiceActivity: defaultVoiceActivity,
}

/** The session as its client sees it. */
export const sessionOf = (id: string, settings: SessionSettings): JsonObject => {
  const { type, format, model, language, keywords, delay, turns, voiceActivity } = settings
  return {
    id,
    object: type === 'transcription' ? 'realtime.transcription_session' : 'realtime.session',
    type,
    audio: {
      input: {
        format: format.type === 'audio/pcm' ? format : { type: format.type },
        noise_reduction: null,
        transcription: { model: model ?? null, language, ...(keywords.length > 0 && { keywords }), delay },
        turn_detection: turns === 'client' ? null : { type: turns, ...(turns === 'server_vad' && voiceActivity) },
      },
    },
    include: null,
  }
}

/** The recognition that the settings ask for. */
export const recognizeRequestOf = (settings: SessionSettings, model: NamedModel): RecognizeRequest => ({
  audioFormat: 'pcm',
  sampleRateHz: settings.format.rate,
  modelName: model.name,
  modelTenant: model.tenant,
  gracefulSilenceThresholdMs: 0,
  ...(settings.language !== undefined && { language: settings.language }),
  ...(settings.keywords.length > 0 && { phrases: settings.keywords }),
  ...(settings.turns === 'server_vad' && parametersOf(settings.voiceActivity)),
})

const parametersOf = (voiceActivity: VoiceActivity): RecognitionParameters => ({
  // 0.5 is the default of both.
  sensitivity: Math.min(10, Math.max(1, Math.round(11 - 10 * voiceActivity.threshold))),
  preSpeechBufferMs: voiceActivity.prefix_padding_ms,
  silenceTriggerMs: voiceActivity.silence_duration_ms,
})
