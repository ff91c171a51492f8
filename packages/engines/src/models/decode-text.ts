/** The text of a file in UTF-8, or in UTF-16 with a byte order mark; undefined if the bytes are neither. */
export const decodeText = (bytes: Uint8Array): string | undefined => {
  const [first, second] = bytes
  const isLittleEndian = first === 0xff && second === 0xfe
  const isBigEndian = first === 0xfe && second === 0xff
  const encoding = isLittleEndian ? 'utf-16le' : isBigEndian ? 'utf-16be' : 'utf-8'
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes)
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

/**
 * A text of others in quotes, in which characters that are not seen, or that change the order of others, are escaped.
 */
export const quoteText = (text: string): string =>
  JSON.stringify(text).replaceAll(/[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Co}\p{Cn}]|(?! )\p{Z}/gu, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')
    return code.length > 4 ? `\\u{${code}}` : `\\u${code}`
  })
