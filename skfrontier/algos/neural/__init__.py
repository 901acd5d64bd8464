"""Operations on neural networks."""
