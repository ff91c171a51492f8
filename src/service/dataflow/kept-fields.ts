import { SpeechError } from '../../errors/speech-error.js'
import type { StartRequest, Settings } from '../../protocol/dataflow-messages.js'
import { isJsonObject } from '../../protocol/json-object.js'

/** What the `Settings` and `CallProperties` of one session hold together at most. */
export const maxSettingKeys = 1_000
export const maxSettingBytes = 262_144

const maxLanguageLength = 256
const maxOutputBytes = 16_384
const maxOutputDepth = 8

/** Why a session does not keep these; nothing where they fit. */
export const settingsRefusal = (settings: Settings, callProperties: Settings): SpeechError | undefined => {
  const keyCount = Object.keys(settings).length + Object.keys(callProperties).length
  if (keyCount > maxSettingKeys) {
    return tooMuch('Settings and CallProperties together', `have ${keyCount} keys; keep at most ${maxSettingKeys}`)
  }
  const byteCount = sizeOf(settings) + sizeOf(callProperties)
  return byteCount > maxSettingBytes
    ? tooMuch('Settings and CallProperties together', `are ${byteCount} bytes; keep at most ${maxSettingBytes}`)
    : undefined
}

/** Why a session does not keep what its Start gives; nothing where all of it fits. */
export const startRefusal = ({ audio, language = '', settings = {}, callProperties = {} }: StartRequest) => {
  if (language.length > maxLanguageLength) return tooMuch('Language', `is longer than ${maxLanguageLength} characters`)
  const { output } = audio
  if (output !== undefined) {
    if (depthOf(output, maxOutputDepth) > maxOutputDepth) {
      return tooMuch('Audio.Output', `is nested deeper than ${maxOutputDepth} levels`)
    }
    if (sizeOf(output) > maxOutputBytes) return tooMuch('Audio.Output', `is larger than ${maxOutputBytes} bytes`)
  }
  return settingsRefusal(settings, callProperties)
}

/** How deep objects and lists lie in each other; looks no deeper than one level beyond the bound. */
const depthOf = (value: unknown, bound: number): number => {
  if (!isJsonObject(value) && !Array.isArray(value)) return 0
  if (bound <= 0) return 1
  const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
  return 1 + parts.reduce<number>((deepest, part) => Math.max(deepest, depthOf(part, bound - 1)), 0)
}

/** Bytes of the JSON. */
const sizeOf = (values: object): number => Buffer.byteLength(JSON.stringify(values))

const tooMuch = (field: string, text: string): SpeechError => new SpeechError('invalid-field', `${field} ${text}.`)
