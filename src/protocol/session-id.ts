import { codec, type Codec } from './validation.js'

const maxLength = 64

/** The id that a service gives a session, and that its later connections present (PROTOCOL 5.13). */
export const sessionId: Codec<string> = codec(
  `a text of 1 to ${maxLength} characters`,
  (value): value is string => typeof value === 'string' && value !== '' && value.length <= maxLength,
)
