import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { nonEmptyText, optionsOf, wholeNumber } from 'rxspeech/internal/protocol/validation'
import type { ListenAddress } from 'rxspeech/internal/transport/listen-address'

export const listenAddressCodec = optionsOf<ListenAddress>()(
  { host: nonEmptyText, port: wholeNumber({ min: 0, max: 65_535 }) },
  {},
)

/** `HOST:PORT`, with an IPv6 address in brackets. Throws `invalid-options`. */
export const parseListenAddress = (text: string): ListenAddress => {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s[\]]+)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain
  if (host === undefined || Number(port) > 65_535) {
    throw new SpeechError(
      'invalid-options',
      `${JSON.stringify(text)} is not an address; write HOST:PORT, such as 127.0.0.1:0.`,
    )
  }
  return { host, port: Number(port) }
}
