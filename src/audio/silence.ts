import type { Encoding } from './format.js'

/** Every byte of silence: zero in PCM, positive zero in µ-law, the smallest positive value in A-law (ITU-T G.711). */
export const silentByte = (encoding: Encoding): number => {
  switch (encoding) {
    case 'pcm':
      return 0
    case 'ulaw':
      return 0xff
    case 'alaw':
      return 0xd5
  }
}
