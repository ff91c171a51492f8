/** The used part of the package, which has no types. */
declare module 'seek-bzip' {
  /** Bytes that are read or written one by one. What its methods throw, `decode` throws. */
  export class Stream {
    /** The next byte, -1 at the end. */
    readByte(): number
    /** Whether there is no more byte. */
    eof(): boolean
    writeByte(byte: number): void
  }
  /**
   * Decompresses all of the input, of several parts too if `multistream`. Throws a `TypeError` if it is not bzip2, or
   * damaged.
   */
  export function decode(input: Stream, output: Stream, multistream: boolean): void
}
