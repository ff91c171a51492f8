import { concat, defer, filter, map, type OperatorFunction } from 'rxjs'
import { joinBytes } from '../../audio/format.js'
import { SpeechError } from '../../errors/speech-error.js'

/**
 * Aligns slices to whole frames of `frameBytes`, so that no later operator receives a split sample.
 *
 * A slice of whole frames passes unchanged; otherwise the incomplete frame is carried over to the next slice.
 * - Completion: completes; `cut-sample` if a frame is incomplete.
 * - Error: passes it on at once. Unsubscription: discards what is buffered.
 * - Buffering: less than one frame, as a copy.
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

/** The error for audio that ends within a frame. */
export const cutSample = (byteCount: number, frameBytes: number): SpeechError =>
  new SpeechError(
    'cut-sample',
    `The audio ended within a sample: only ${byteCount} of its last ${frameBytes} bytes arrived.`,
  )

const nothing = new Uint8Array(0)
