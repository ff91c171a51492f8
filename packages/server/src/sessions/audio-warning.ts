import type { SoundWarning } from 'rxspeech/internal/audio/sound-check/sound-warning'
import type { JsonObject } from 'rxspeech/internal/protocol/json-object'

/** `Data` of the event that reports a fault of the audio (PROTOCOL 3.3). */
export const audioWarningData = ({ kind, found, isOver, message }: SoundWarning): JsonObject => ({
  Kind: kind,
  ...(found !== undefined && { Found: found }),
  ...(isOver && { Over: true }),
  Message: message,
})
