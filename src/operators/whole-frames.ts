import { concat, defer, filter, map, type OperatorFunction } from 'rxjs'
import { joinBytes } from '../audio/join-bytes.js'
import { SpeechError } from '../errors/speech-error.js'

/**
 * Moves the borders of slices to whole frames of `frameBytes`, so that what follows never meets a cut sample.
 *
 * A slice of whole frames passes untouched; else the cut frame (less than `frameBytes`) is carried into the next slice.
 * - Completion: complete; where a frame was cut, error `cut-sample` that names the bytes.
 * - Error: at once. Unsubscribe: what is carried is gone.
 * - Buffered: less than one frame, a copy.
 */
export const wholeFrames =
  (frameBytes: number): OperatorFunction<Uint8Array, Uint8Array> =>
  (source$) =>
    defer(() => {
      let cut = nothing
      const align = (slice: Uint8Array): Uint8Array => {
        const bytes = cut.byteLength === 0 ? slice : joinBytes(cut, slice)
        const whole = bytes.byteLength - (bytes.byteLength % frameBytes)
        cut = whole === bytes.byteLength ? nothing : new Uint8Array(bytes.subarray(whole))
        return whole === bytes.byteLength ? bytes : bytes.subarray(0, whole)
      }
      const end$ = defer(() => {
        if (cut.byteLength > 0) throw cutSample(cut.byteLength, frameBytes)
        return []
      })
      return concat(
        source$.pipe(
          map(align),
          filter((bytes) => bytes.byteLength > 0),
        ),
        end$,
      )
    })

/** Said when audio ends within a frame; names the bytes that came of it. */
export const cutSample = (byteCount: number, frameBytes: number): SpeechError =>
  new SpeechError(
    'cut-sample',
    `The audio ended within a sample: ${byteCount} of the last ${frameBytes} bytes came, the rest did not.`,
  )

const nothing = new Uint8Array(0)
