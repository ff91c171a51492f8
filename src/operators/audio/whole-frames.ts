import { concat, defer, filter, map, type OperatorFunction } from 'rxjs'
import { FrameAligner } from '../../audio/frame-aligner.js'
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
      const aligner = new FrameAligner(frameBytes)
      const end$ = defer(() => {
        const cut = aligner.rest()
        if (cut.byteLength > 0) throw cutSample(cut.byteLength, frameBytes)
        return []
      })
      return concat(
        source$.pipe(
          map((slice) => aligner.push(slice)),
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
