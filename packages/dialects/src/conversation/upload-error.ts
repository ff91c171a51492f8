/** An upload that is refused, in the terms of HTTP; each dialect has its own form for it. */
export class UploadError extends Error {
  readonly status: 400 | 408 | 413 | 415 | 503
  /** Such as `file_too_large`. */
  readonly code: string

  /** Whether the same request can succeed later. */
  get isRetryable(): boolean {
    return this.status === 503
  }

  constructor(status: UploadError['status'], code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** No one reads it: the client has left, which is no fault of the service. */
export const incompleteUpload = (): UploadError =>
  new UploadError(400, 'incomplete_request', 'The request ended early.')
