import type { SoundWarning } from '../../audio/sound-check/sound-warning.js'
import type { JsonObject } from '../../protocol/json-object.js'

/** `Data` of the event that reports a fault of the audio (PROTOCOL 3.3). */
export const audioWarningData = ({ kind, found, isOver, message }: SoundWarning): JsonObject => ({
  Kind: kind,
  ...(found !== undefined && { Found: found }),
  ...(isOver && { Over: true }),
  Message: message,
})
