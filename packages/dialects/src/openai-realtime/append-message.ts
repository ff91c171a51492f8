/**
 * The bytes of a base64 text; undefined for any other. Node ignores characters that are not base64, and returns fewer
 * bytes; of characters outside ASCII it may read the low byte.
 */
export const base64Bytes = (text: string): Uint8Array | undefined => {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const characters = text.length - padding
  if (characters % 4 === 1 || Buffer.byteLength(text) !== text.length) return undefined
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === Math.floor((characters * 3) / 4) ? bytes : undefined
}

/** What `JSON.stringify` and other common writers make of the message: nothing before the audio, nothing behind it. */
const beginnings = [
  '{"type":"input_audio_buffer.append","audio":"',
  '{"type": "input_audio_buffer.append", "audio": "',
] as const
const end = '"}'

/**
 * The audio of an `input_audio_buffer.append` in its usual form, which is read without parsing the JSON: nearly all
 * messages of a client are such. Undefined for any other message. Base64 has no character that ends or escapes a string
 * of JSON, so the text between the beginning and the end is the whole string if all of it is base64.
 */
export const readUsualAppend = (message: string): Uint8Array | undefined => {
  for (const beginning of beginnings) {
    // Without an end of its own, a message ends with the quote that opens its audio.
    if (message.length < beginning.length + end.length) continue
    if (!message.startsWith(beginning) || !message.endsWith(end)) continue
    return base64Bytes(message.slice(beginning.length, -end.length))
  }
  return undefined
}
