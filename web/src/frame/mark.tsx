/** A branch of coral over water. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <path class="coral" d="M16 24V12m0 6.500-5.500-4V8.500m5.500 6 5.500-5V5.500" />
      <path class="water" d="M4 26c4-2.600 8-2.600 12 0s8 2.600 12 0" />
    </svg>
  );
}
