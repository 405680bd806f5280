"""What ``winnow bench`` measures, one subject a file. Figures are medians with their 95th percentile."""
